/**
 * Agents run in the process that keeps their runs. Some libraries replace functions of the language, such as `Date.now`, and
 * mean to do so for their own tests; here that would change what is written of every run of the process. A process that
 * runs agents therefore protects these functions before it loads one: the assignment throws, and only its own call fails.
 *
 * Methods of prototypes stay as they are. Protected ones would also refuse `thing.toString = ...` on an object that inherits.
 */
const HOLDERS = ["JSON", "Math", "Reflect", "Object", "Date", "Atomics"] as const;
const TIMERS = ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] as const;

/** Not to be taken back: for processes that only run agents. */
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
