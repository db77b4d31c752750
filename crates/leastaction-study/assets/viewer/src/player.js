// The clock of the page: what time is shown, and whether it runs.

export class Player {
  #listeners = [];
  #last = 0;

  constructor(start, end) {
    this.start = start;
    this.end = end;
    this.time = start;
    this.playing = false;
    this.repeat = true;
    this.speed = defaultSpeed(end - start);
  }

  /** Calls back after every change of time or of play and pause. */
  onChange(listener) {
    this.#listeners.push(listener);
  }

  setTime(t) {
    if (!Number.isFinite(t)) return;
    this.time = Math.min(Math.max(t, this.start), this.end);
    this.#tell();
  }

  play() {
    if (this.playing || this.end <= this.start) return;
    if (this.time >= this.end) this.time = this.start;
    this.playing = true;
    this.#last = performance.now();
    requestAnimationFrame((now) => this.#tick(now));
    this.#tell();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.#tell();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  #tick(now) {
    if (!this.playing) return;
    // A page that was hidden for an hour goes on where it was.
    const elapsed = Math.min(Math.max(now - this.#last, 0), 250) / 1000;
    this.#last = now;
    this.time += elapsed * this.speed;
    if (this.time >= this.end) {
      if (this.repeat) {
        this.time = this.start + ((this.time - this.start) % (this.end - this.start));
      } else {
        this.time = this.end;
        this.playing = false;
      }
    }
    this.#tell();
    requestAnimationFrame((later) => this.#tick(later));
  }

  #tell() {
    for (const listener of this.#listeners) listener(this);
  }
}

/** Real time where that is watchable, otherwise a round speed that shows the run in about 15 s. */
function defaultSpeed(duration) {
  if (!(duration > 0) || (duration >= 1 && duration <= 90)) return 1;
  const decade = 10 ** Math.floor(Math.log10(duration / 15));
  const mantissa = duration / 15 / decade;
  return Number(((mantissa < 1.5 ? 1 : mantissa < 3.5 ? 2 : mantissa < 7.5 ? 5 : 10) * decade).toPrecision(1));
}

/** Speeds to offer around the default, always with real time. */
export function speeds(usual) {
  const list = [0.1, 0.2, 0.5, 1, 2, 5, 10].map((factor) => Number((factor * usual).toPrecision(2)));
  return [...new Set([...list, 1])].sort((a, b) => a - b);
}
