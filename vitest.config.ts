import { configDefaults, defineConfig } from "vitest/config";
import { MEASURED_LIMITS as LIMITS } from "./test/support/gate/machine.ts";

/**
 * Files that mock modules or globals of the process: what they replace must not reach the next file. After an index was in
 * `Array.prototype` once, V8 reads each hole of an array by itself, and a sparse one takes for ever.
 */
const ISOLATED = ["test/adapters/local/backups.test.ts", "test/sdk/watched-intrinsics.test.ts"];

/** Suites that start many processes, enumerate faults or play long histories. `npm test` leaves them out. */
const LONG = ["test/**/*.long.test.ts", "test/slow/**/*.test.ts"];

/** They compare durations, so they run at night on a machine that does nothing else. */
const NIGHTLY = "test/**/*.nightly.test.ts";

/** They need an emulator, a browser or SST's platform, and have configurations of their own. */
const ELSEWHERE = ["test/localstack/**", "test/browser/**", "test/deployment/**"];

const exclude = [...configDefaults.exclude, ...ELSEWHERE];

/**
 * A test that fails fails: no test is retried here. `npm run verify` plays a file once more, alone, if all of its
 * failures are events that did not come in time, and says so (docs/adr/0115-second-try.md).
 */
export default defineConfig({
  test: {
    environment: "node",
    expect: { poll: { timeout: LIMITS.eventMs } },
    pool: "forks",
    setupFiles: ["./test/support/gate/seeds.ts"],
    allowOnly: false,
    testTimeout: LIMITS.sceneMs,
    hookTimeout: LIMITS.sceneMs,
    // On two cores: every third test waits for processes or timers. More of them would only wait for each other.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: [...exclude, ...ISOLATED, ...LONG, NIGHTLY],
          // Files share processes and modules, which takes a third of the time. A file restores what it changes.
          isolate: false,
        },
      },
      { extends: true, test: { name: "isolated", include: ISOLATED } },
      { extends: true, test: { name: "long", include: LONG, exclude: [...exclude, NIGHTLY], isolate: false } },
      { extends: true, test: { name: "nightly", include: [NIGHTLY], exclude } },
    ],
  },
});
