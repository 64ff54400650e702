import type { Pool, Taken, TaskEnd } from "./workers.ts";

/** Counts the tasks that are out. */
export function countingPool(pool: Pool<Taken>): Pool<Taken> & { readonly out: () => number } {
  let out = 0;
  return {
    ...pool,
    out: () => out,
    run: (worker, work) => {
      out += 1;
      const onEnd = (end: TaskEnd): void => {
        out -= 1;
        work.onEnd(end);
      };
      pool.run(worker, { ...work, onEnd });
    },
  };
}
