/* NewReno (RFC 5681, RFC 6582, RFC 3465): the same decisions as fullpipe's own newreno. */
#include <fullpipe.h>
#include <stdlib.h>

struct reno {
    uint64_t cwnd, ssthresh, acked, saved_cwnd, saved_ssthresh, just_lost;
};

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void *create(const struct fullpipe_config *config) {
    struct reno *reno = (struct reno *)calloc(1, sizeof *reno);
    if (reno) {
        reno->cwnd = config->initial_cwnd;
        reno->ssthresh = FULLPIPE_NONE;
    }
    return reno;
}

/* RFC 5681 §3.1, equation 4: half of the flight size, which is the window if the flow filled it. */
static void halve(struct reno *reno, const struct fullpipe_conn *conn) {
    uint64_t flight = least(reno->cwnd, conn->inflight + reno->just_lost);
    reno->saved_cwnd = reno->cwnd;
    reno->saved_ssthresh = reno->ssthresh;
    reno->ssthresh = most((conn->cwnd_limited ? reno->cwnd : flight) / 2, 2 * conn->smss);
    reno->cwnd = reno->ssthresh;
    reno->acked = reno->just_lost = 0;
}

static int32_t on_lost(void *it, const struct fullpipe_context *cx, const struct fullpipe_lost *lost) {
    (void)cx;
    ((struct reno *)it)->just_lost += lost->packet.size;
    return 0;
}

static int32_t on_ack(void *it, const struct fullpipe_context *cx, const struct fullpipe_ack *ack) {
    struct reno *reno = (struct reno *)it;
    const struct fullpipe_conn *conn = cx->conn;
    /* RFC 3465 §2.3: after a timeout, one ACK may cover much data that left the network before. */
    uint64_t counted = conn->state == FULLPIPE_LOSS && ack->cumulative ? ack->newly_acked : ack->cumulative;
    reno->just_lost = 0;
    if (conn->state == FULLPIPE_RECOVERY || conn->state == FULLPIPE_REDUCED || !conn->cwnd_limited)
        return 0; /* The transport has the window, or the flow does not use it. */
    if (reno->cwnd < reno->ssthresh) {
        reno->cwnd = least(reno->cwnd + least(counted, 2 * conn->smss), reno->ssthresh);
        return 0;
    }
    for (reno->acked += counted; reno->acked >= reno->cwnd; reno->cwnd += conn->smss)
        reno->acked -= reno->cwnd;
    return 0;
}

static int32_t on_recovery(void *it, const struct fullpipe_context *cx, uint32_t change) {
    struct reno *reno = (struct reno *)it;
    if (change == FULLPIPE_ENTER_LOSS || change == FULLPIPE_ENTER_MARK || change == FULLPIPE_TIMEOUT)
        halve(reno, cx->conn);
    if (change == FULLPIPE_TIMEOUT || change == FULLPIPE_TIMEOUT_AGAIN)
        reno->cwnd = cx->conn->inflight + cx->conn->smss;
    if (change == FULLPIPE_PERSISTENT)
        reno->cwnd = 2 * cx->conn->smss;
    if (change == FULLPIPE_TIMEOUT_AGAIN || change == FULLPIPE_PERSISTENT)
        reno->acked = 0;
    if (change == FULLPIPE_SPURIOUS && reno->saved_cwnd) {
        reno->cwnd = most(reno->cwnd, reno->saved_cwnd);
        reno->ssthresh = most(reno->ssthresh, reno->saved_ssthresh);
        reno->saved_cwnd = 0;
    }
    return 0;
}

static int32_t on_path(void *it, const struct fullpipe_context *cx, uint32_t change, uint64_t bytes) {
    struct reno *reno = (struct reno *)it;
    if (change == FULLPIPE_MTU)
        reno->cwnd = most(reno->cwnd, cx->conn->smss);
    if (change == FULLPIPE_KNOWN_SSTHRESH)
        reno->ssthresh = bytes;
    return 0;
}

static int32_t decision(void *it, struct fullpipe_decision *into) {
    into->cwnd = ((struct reno *)it)->cwnd;
    into->ssthresh = ((struct reno *)it)->ssthresh;
    return 0;
}

static const struct fullpipe_plugin table = {
    .version = FULLPIPE_VERSION,
    .answers_marks = 1,
    .name = FULLPIPE_TEXT("creno"),
    .purpose = FULLPIPE_TEXT("NewReno in C."),
    .create = create,
    .destroy = free,
    .decision = decision,
    .on_ack = on_ack,
    .on_lost = on_lost,
    .on_recovery = on_recovery,
    .on_path = on_path,
};

FULLPIPE_PLUGIN(table)
