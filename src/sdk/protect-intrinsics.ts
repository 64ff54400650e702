/**
 * Makes functions of the language read-only in processes that run agents. Some libraries replace functions such as
 * `Date.now` for their own tests. Agents share the process with the code that records runs, so such a replacement would
 * corrupt the records of every run of the process. Call this before loading agents: then the assignment throws, and
 * only the call that does it fails.
 *
 * Methods of prototypes are not protected, because that would also refuse `thing.toString = ...` on objects that
 * inherit.
 */
const HOLDERS = ["JSON", "Math", "Reflect", "Object", "Date", "Atomics"] as const;
const TIMERS = ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] as const;

/** Cannot be reverted, so call it only in processes that do nothing but run agents. */
export function protectIntrinsics(): void {
  for (const name of TIMERS) protect(globalThis, name);
  for (const name of HOLDERS) {
    const holder = globalThis[name];
    for (const key of Object.getOwnPropertyNames(holder)) {
      if (typeof Reflect.get(holder, key) === "function") protect(holder, key);
    }
    protect(globalThis, name);
  }
}

const protect = (holder: object, key: string): void =>
  void Object.defineProperty(holder, key, { writable: false, configurable: false });
