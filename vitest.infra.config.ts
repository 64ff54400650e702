import { defineConfig } from "vitest/config";
import { MEASURED_LIMITS as LIMITS } from "./test/support/gate/machine.ts";

/** Tests of what is deployed, on the real components of SST, which are installed if they are missing. */
export default defineConfig({
  test: {
    environment: "node",
    expect: { poll: { timeout: LIMITS.eventMs } },
    include: ["test/deployment/**/*.test.ts"],
    globalSetup: ["test/deployment/setup.ts"],
    pool: "forks",
    setupFiles: ["./test/support/gate/seeds.ts"],
    allowOnly: false,
    testTimeout: LIMITS.sceneMs,
    hookTimeout: LIMITS.sceneMs,
    maxWorkers: 2,
    // What they load of the functions, of SST and of AWS is loaded once in each process.
    isolate: false,
  },
});
