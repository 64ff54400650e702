import { defineConfig } from "vitest/config";
import { MEASURED_LIMITS as LIMITS } from "./test/support/gate/machine.ts";

/** Tests against LocalStack, which is started if it does not answer. */
export default defineConfig({
  test: {
    environment: "node",
    expect: { poll: { timeout: LIMITS.eventMs } },
    include: ["test/localstack/**/*.test.ts"],
    globalSetup: ["test/localstack/setup.ts"],
    pool: "forks",
    setupFiles: ["./test/support/gate/seeds.ts"],
    allowOnly: false,
    testTimeout: LIMITS.sceneMs,
    hookTimeout: LIMITS.sceneMs,
    // One emulator on a small machine: what waits for it in parallel only waits longer.
    maxWorkers: 1,
    // Each test has clients of its own, so the files share one process and its modules.
    isolate: false,
  },
});
