// The poses of all bodies at any time, from the frames that were kept.

/** Numbers per body and frame: px, py, pz, qw, qx, qy, qz. */
export const POSE = 7;
/** Bodies that turn further between two frames were not watched closely enough to guess what lies between. */
const MAX_TURN = 0.8;

export class Motion {
  constructor({ times, poses, stride }, bodyCount) {
    this.times = times;
    this.poses = poses;
    this.stride = stride;
    this.bodyCount = bodyCount;
    this.frameCount = times.length;
    this.start = this.frameCount ? times[0] : 0;
    this.end = this.frameCount ? times[this.frameCount - 1] : 0;
    this.smooth = this.frameCount < 2 || this.#largestTurn() < MAX_TURN;
    /** Poses at the time of the last `moveTo`. */
    this.current = new Float64Array(bodyCount * POSE);
    this.moveTo(this.start);
  }

  /** The last frame not after t. */
  frameAt(t) {
    let low = 0;
    let high = this.frameCount - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= t) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  moveTo(t) {
    this.time = t;
    if (!this.frameCount) return;
    const size = this.bodyCount * POSE;
    const frame = this.frameAt(t);
    const next = Math.min(frame + 1, this.frameCount - 1);
    const span = this.times[next] - this.times[frame];
    let share = span > 0 ? Math.min(Math.max((t - this.times[frame]) / span, 0), 1) : 0;
    if (!this.smooth) share = Math.round(share);
    const { poses, current } = this;
    for (let i = 0; i < size; i += POSE) blend(poses, frame * size + i, next * size + i, share, current, i);
  }

  #largestTurn() {
    const size = this.bodyCount * POSE;
    let smallest = 1;
    for (let i = 0; i + size < this.poses.length; i += POSE) {
      smallest = Math.min(smallest, Math.abs(quaternionDot(this.poses, i, i + size)));
    }
    return 2 * Math.acos(Math.min(smallest, 1));
  }
}

function quaternionDot(poses, a, b) {
  let dot = 0;
  for (let k = 3; k < POSE; k++) dot += poses[a + k] * poses[b + k];
  return dot;
}

// Straight line for positions, normalised straight line for quaternions: at turns below MAX_TURN that is
// within 0.2 degrees of the great circle.
function blend(poses, a, b, share, out, at) {
  const sign = quaternionDot(poses, a, b) < 0 ? -1 : 1;
  for (let k = 0; k < POSE; k++) {
    const to = k < 3 ? poses[b + k] : sign * poses[b + k];
    out[at + k] = poses[a + k] + share * (to - poses[a + k]);
  }
  const norm = Math.hypot(out[at + 3], out[at + 4], out[at + 5], out[at + 6]) || 1;
  for (let k = 3; k < POSE; k++) out[at + k] /= norm;
}
