/** What a warm process keeps, bounded by its bytes. */
interface Held<T> {
  readonly value: T;
  readonly bytes: number;
}

/** Values by key. Beyond `bytesMax` it drops those that were set longest ago, the newest one as well if it is too large. */
export class BytesMap<T> {
  readonly bytesMax: number;
  readonly #held = new Map<string, Held<T>>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get(key: string): T | undefined {
    return this.#held.get(key)?.value;
  }

  set(key: string, value: T, bytes: number): void {
    this.delete(key);
    this.#held.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.bytesMax) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#bytes -= this.#held.get(key)?.bytes ?? 0;
    this.#held.delete(key);
  }
}
