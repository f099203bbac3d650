/* Congestion control for fullpipe in C or C++, in a shared library:
 *
 *     cc -O2 -shared -fPIC -I"$(fullpipe plugin header)" mine.c -o libmine.so
 *     fullpipe compare cubic ./libmine.so
 *
 * Times are nanoseconds since the start of the run, sizes bytes, rates bits per second. Texts and tables that a
 * library returns must stay valid until the process ends. A library has one algorithm. Runs are on several threads,
 * so a library has no variable besides the data of a connection. Calls for one connection come one after the other,
 * but not always from the same thread. No exception of C++ and no longjmp may leave a function. Declare functions
 * static: a name that another library of the process has, too, would lead to that one.
 *
 * docs/guide/plugin.md has a complete example; docs/reference/controller.md has the contract, with the order of the
 * calls.
 */
#ifndef FULLPIPE_H
#define FULLPIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the interface, for fullpipe_plugin.version. */
#define FULLPIPE_VERSION UINT32_C(3)
/* Stands for a value that is not there. */
#define FULLPIPE_NONE UINT64_MAX

#if defined(_WIN32)
#define FULLPIPE_EXPORT __declspec(dllexport)
#else
#define FULLPIPE_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define FULLPIPE_C extern "C"
#else
#define FULLPIPE_C extern
#endif

/* Exports the algorithm of a table: FULLPIPE_PLUGIN(table) at the end of the file, without a semicolon. */
#define FULLPIPE_PLUGIN(table)                                                      \
    FULLPIPE_C FULLPIPE_EXPORT const struct fullpipe_plugin *fullpipe_plugin(void); \
    const struct fullpipe_plugin *fullpipe_plugin(void) { return &(table); }

/* Text in UTF-8, without a final zero; no bytes for none. */
struct fullpipe_text {
    const char *bytes;
    size_t length;
};

/* A text of a literal. */
#define FULLPIPE_TEXT(literal) { "" literal, sizeof(literal) - 1 }
/* The first entry and the number of entries of an array. */
#define FULLPIPE_LIST(array) { array, sizeof(array) / sizeof((array)[0]) }

struct fullpipe_texts {
    const struct fullpipe_text *first;
    size_t count;
};

enum { FULLPIPE_NUMBER = 0, FULLPIPE_FLAG = 1, FULLPIPE_WORDS = 2 };

/* A parameter, which a scenario sets with params = { name = value }. */
struct fullpipe_param {
    struct fullpipe_text name;
    struct fullpipe_text unit;
    struct fullpipe_text purpose;
    /* Section of the specification. */
    struct fullpipe_text section;
    /* FULLPIPE_NUMBER, FULLPIPE_FLAG or FULLPIPE_WORDS. */
    uint32_t kind;
    /* Default: the number, or 0 or 1; the first of the words is their default. */
    double usual;
    double least;
    double most;
    struct fullpipe_texts words;
};

struct fullpipe_params {
    const struct fullpipe_param *first;
    size_t count;
};

/* A default of a profile. */
struct fullpipe_default {
    struct fullpipe_text name;
    double value;
    struct fullpipe_text word;
};

struct fullpipe_defaults {
    const struct fullpipe_default *first;
    size_t count;
};

/* Other defaults, for one word of the parameter "profile". */
struct fullpipe_profile {
    struct fullpipe_text name;
    struct fullpipe_defaults defaults;
};

struct fullpipe_profiles {
    const struct fullpipe_profile *first;
    size_t count;
};

/* A column of the trace. */
struct fullpipe_field {
    struct fullpipe_text name;
    struct fullpipe_text unit;
    struct fullpipe_text purpose;
    /* The names of the values 0, 1, 2 of a state. */
    struct fullpipe_texts labels;
};

struct fullpipe_fields {
    const struct fullpipe_field *first;
    size_t count;
};

/* A document that the algorithm follows. */
struct fullpipe_specification {
    struct fullpipe_text name;
    struct fullpipe_text note;
};

struct fullpipe_specifications {
    const struct fullpipe_specification *first;
    size_t count;
};

struct fullpipe_values {
    const double *first;
    size_t count;
};

/* The constants of a connection. */
struct fullpipe_config {
    /* Maximum segment size. */
    uint64_t smss;
    uint64_t initial_cwnd;
    /* Rates of a media source; FULLPIPE_NONE for any other application. */
    uint64_t source_min;
    uint64_t source_max;
    uint64_t source_frame_period;
    /* A value for each parameter, in their order: a number, 0 or 1, or the number of the word. */
    struct fullpipe_values params;
};

enum { FULLPIPE_OPEN = 0, FULLPIPE_REDUCED = 1, FULLPIPE_RECOVERY = 2, FULLPIPE_LOSS = 3 };

/* The state of a connection. */
struct fullpipe_conn {
    uint64_t smss;
    uint64_t initial_cwnd;
    uint64_t inflight;
    uint64_t delivered;
    uint64_t delivered_ce;
    uint64_t lost;
    /* Data that the application has written and that was not sent. */
    uint64_t unsent;
    uint64_t srtt;
    /* FULLPIPE_NONE before the first sample. */
    uint64_t min_rtt;
    uint64_t next_departure;
    uint64_t offload_factor;
    /* FULLPIPE_OPEN, FULLPIPE_REDUCED by a mark, FULLPIPE_RECOVERY, or FULLPIPE_LOSS after a timeout. */
    uint32_t state;
    bool app_limited;
    bool cwnd_limited;
    bool reordering_seen;
    bool paced;
    /* The pacing rate in force; FULLPIPE_NONE if not paced. */
    uint64_t pacing_rate;
};

/* The state of the connection when a packet was sent. */
struct fullpipe_snapshot {
    uint64_t sent;
    uint64_t first_sent;
    uint64_t delivered_at;
    uint64_t delivered;
    uint64_t delivered_ce;
    uint64_t lost;
    /* Including the packet. */
    uint64_t inflight;
    uint16_t size;
    /* The two bits of the ECN field. */
    uint8_t ecn;
    bool app_limited;
    bool retransmit;
};

/* A lost packet. */
struct fullpipe_lost {
    struct fullpipe_snapshot packet;
    /* Bytes lost since the packet was sent, including the packet. */
    uint64_t lost_since_sent;
    /* Whether the preceding packet in sequence is not lost. */
    bool new_range;
    /* 1 if the retransmission timer declared it lost, 0 if a packet sent later arrived. */
    uint8_t cause;
};

/* The information in one ACK. */
struct fullpipe_ack {
    /* The most recently sent packet among the newly acknowledged ones. */
    struct fullpipe_snapshot newest;
    /* Bytes acknowledged cumulatively or selectively. */
    uint64_t newly_acked;
    /* Bytes by which SND.UNA advanced. */
    uint64_t cumulative;
    uint64_t newly_lost;
    /* Data in flight before this ACK. */
    uint64_t prior_inflight;
    /* FULLPIPE_NONE without a sample. */
    uint64_t rtt;
    uint64_t rtt_local;
    uint64_t rtt_remote;
    /* FULLPIPE_NONE if unknown. */
    uint64_t one_way;
    /* Delivery rate; FULLPIPE_NONE if the interval is too short. */
    uint64_t rate;
    uint64_t rate_interval;
    uint64_t rate_delivered;
    uint64_t rate_lost;
    uint64_t rate_delivered_ce;
    uint64_t ce_packets;
    /* FULLPIPE_NONE if the feedback does not count bytes. */
    uint64_t ce_bytes;
    /* FULLPIPE_NONE if the receiver's algorithm sends none. */
    uint64_t feedback;
    bool rate_app_limited;
    /* Whether it reports congestion. */
    bool ece;
    /* Whether it shows that a tail loss probe repaired a loss. */
    bool tlp_repair;
};

/* Instructions for the transport. `decision` gets the previous ones, and changes what differs. */
struct fullpipe_decision {
    /* A packet may leave if the data in flight plus the packet do not exceed it. At least one segment. */
    uint64_t cwnd;
    /* FULLPIPE_NONE before the first congestion. */
    uint64_t ssthresh;
    /* FULLPIPE_NONE for an ACK-clocked flow. */
    uint64_t pacing_rate;
    /* Data that may leave back to back; 0 leaves the choice to the transport. */
    uint64_t send_quantum;
    /* FULLPIPE_NONE leaves a media source at its maximum. */
    uint64_t source_rate;
    /* Time of on_timer; FULLPIPE_NONE for no timer. */
    uint64_t wake_at;
    /* 0 not ECN-capable, 1 ECT(1), 2 ECT(0). */
    uint8_t ecn;
    /* 0 or 1. */
    uint8_t mark_app_limited;
};

/* The context of a call. */
struct fullpipe_context {
    uint64_t now;
    const struct fullpipe_conn *conn;
    /* The decision in force; a call may change it, and return FULLPIPE_DECIDED. */
    struct fullpipe_decision *decision;
    /* For the two functions below. */
    void *host;
    /* Returns 64 random bits; only for a table with random = 1. */
    uint64_t (*random)(void *host);
    /* Reports a change of state, for the trace. */
    void (*transition)(void *host, struct fullpipe_text from, struct fullpipe_text to, struct fullpipe_text reason);
    /* Tells the stream that random() draws from, from others. */
    uint64_t stream;
};

/* The argument of on_recovery. With owns_recovery = 0, ENTER sets ssthresh, and the transport reduces the window to it. */
enum {
    FULLPIPE_ENTER_LOSS = 0,
    FULLPIPE_ENTER_MARK = 1,
    FULLPIPE_EXIT = 2,
    /* The losses since ENTER or TIMEOUT were spurious: undo. */
    FULLPIPE_SPURIOUS = 3,
    FULLPIPE_TIMEOUT = 4,
    /* The timer had already resent this segment. */
    FULLPIPE_TIMEOUT_AGAIN = 5,
    /* Nothing was acknowledged for several timeouts: only QUIC. */
    FULLPIPE_PERSISTENT = 6
};

/* The argument of on_path. */
enum {
    /* conn->smss changed: the window must hold a segment. */
    FULLPIPE_MTU = 0,
    FULLPIPE_ECN_FAILED = 1,
    /* bytes is the bandwidth-delay product of an earlier connection. */
    FULLPIPE_KNOWN_BDP = 2,
    /* bytes is the ssthresh of an earlier connection. */
    FULLPIPE_KNOWN_SSTHRESH = 3
};

/* The bits of `needs`. */
enum {
    FULLPIPE_RATE_SAMPLE = 1 << 0,
    FULLPIPE_LOST_EACH = 1 << 1,
    FULLPIPE_TX_INFLIGHT = 1 << 2,
    FULLPIPE_ECN_COUNTS = 1 << 3,
    FULLPIPE_ECT1 = 1 << 4,
    FULLPIPE_NEEDS_SPURIOUS = 1 << 5,
    FULLPIPE_PACING = 1 << 6,
    FULLPIPE_TIMESTAMPS = 1 << 7,
    FULLPIPE_ACKED_EACH = 1 << 8,
    FULLPIPE_HOST_DELAYS = 1 << 9
};

/* What the functions `on_...` return. Any other number is an error. */
enum {
    /* fullpipe calls `decision` next. */
    FULLPIPE_ASK = 0,
    /* The decision is as before: `decision` is not called. */
    FULLPIPE_SAME = 2,
    /* The decision is in cx->decision: `decision` is not called. */
    FULLPIPE_DECIDED = 3,
    /* Only of on_sent: as FULLPIPE_SAME, and this connection needs no further call of on_sent. */
    FULLPIPE_DEAF = 4
};

/* An algorithm. `decision` and `observe` return 0. Another number is an error, which `error` describes and which ends
 * the run. `create`, `destroy`, `decision` and `on_ack` must be there; a function that is null is not called. `it` is the
 * result of `create`. */
struct fullpipe_plugin {
    /* FULLPIPE_VERSION. */
    uint32_t version;
    /* 0 if the transport reduces the window by PRR in recovery, 1 if the algorithm does. */
    uint32_t owns_recovery;
    /* Signals that a runner must have. */
    uint32_t needs;
    /* 1 if it responds to CE marks, else 0. */
    uint8_t answers_marks;
    /* 1 if it calls `random`, else 0. */
    uint8_t random;
    /* Name in scenarios. */
    struct fullpipe_text name;
    /* Purpose, in a sentence. */
    struct fullpipe_text purpose;
    struct fullpipe_params params;
    struct fullpipe_profiles profiles;
    struct fullpipe_fields fields;
    struct fullpipe_specifications specifications;
    /* Creates the controller of a connection; null is an error. */
    void *(*create)(const struct fullpipe_config *config);
    void (*destroy)(void *it);
    /* Describes the last error. After `create`, `it` is null; keep its words in a variable of the thread. */
    struct fullpipe_text (*error)(void *it);
    /* Called after `create`, and after a call that returned FULLPIPE_ASK. */
    int32_t (*decision)(void *it, struct fullpipe_decision *into);
    /* Writes a value for each of `fields`. */
    int32_t (*observe)(void *it, double *values);
    int32_t (*on_ack)(void *it, const struct fullpipe_context *cx, const struct fullpipe_ack *ack);
    /* Null is faster for an algorithm that has no use for it: it is a call for each packet. */
    int32_t (*on_sent)(void *it, const struct fullpipe_context *cx, const struct fullpipe_snapshot *packet);
    int32_t (*on_lost)(void *it, const struct fullpipe_context *cx, const struct fullpipe_lost *lost);
    /* Only with FULLPIPE_ACKED_EACH. */
    int32_t (*on_acked)(void *it, const struct fullpipe_context *cx, const struct fullpipe_snapshot *packet);
    int32_t (*on_recovery)(void *it, const struct fullpipe_context *cx, uint32_t change);
    /* The flow has not used its window: it must not exceed cwnd. */
    int32_t (*on_unused)(void *it, const struct fullpipe_context *cx, uint64_t cwnd);
    int32_t (*on_path)(void *it, const struct fullpipe_context *cx, uint32_t change, uint64_t bytes);
    /* A media source handed over a frame. */
    int32_t (*on_frame)(void *it, const struct fullpipe_context *cx, uint64_t size, uint64_t waited);
    int32_t (*on_timer)(void *it, const struct fullpipe_context *cx);
    int32_t (*on_end)(void *it, const struct fullpipe_context *cx);
};

#ifdef __cplusplus
}
#endif

#endif
