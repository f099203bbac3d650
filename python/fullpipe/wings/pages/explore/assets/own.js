class Mine {
  static purpose = "Reno in a few lines: more by one segment a round trip, half of it after a loss.";
  static params = { beta: { default: 0.5, least: 0.1, most: 0.9, purpose: "share of the window after a loss" } };

  constructor(config) {
    this.smss = config.smss;
    this.beta = config.params.beta;
    this.cwnd = config.initial_cwnd;
    this.ssthresh = Infinity;
    this.state = "slow_start";
  }

  enter(state, cx, reason) {
    if (state !== this.state) cx.transition(this.state, state, reason);
    this.state = state;
  }

  on_ack(cx, ack) {
    if (cx.conn.in_recovery || !cx.conn.cwnd_limited) return;
    if (this.cwnd < this.ssthresh) {
      this.cwnd += ack.newly_acked;
      if (this.cwnd >= this.ssthresh) this.enter("avoidance", cx, "window reached ssthresh");
    } else {
      this.cwnd += (this.smss * ack.newly_acked) / this.cwnd;
    }
  }

  on_recovery(cx, change) {
    if (change.kind !== "enter" && change.kind !== "timeout") return;
    this.ssthresh = Math.max(this.cwnd * this.beta, 2 * this.smss);
    this.cwnd = change.kind === "enter" ? this.ssthresh : this.smss;
    this.enter(change.kind === "enter" ? "avoidance" : "slow_start", cx, change.cause ?? "timeout");
  }

  decision() {
    return { cwnd: this.cwnd, ssthresh: this.ssthresh };
  }
}
