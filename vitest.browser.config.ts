import { defineConfig } from "vitest/config";
import { MEASURED_LIMITS as LIMITS } from "./test/support/gate/machine.ts";

/** Tests in a real Chromium, which is installed if it is missing. */
export default defineConfig({
  test: {
    environment: "node",
    expect: { poll: { timeout: LIMITS.eventMs } },
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/setup.ts"],
    pool: "forks",
    setupFiles: ["./test/support/gate/seeds.ts"],
    allowOnly: false,
    testTimeout: LIMITS.sceneMs,
    hookTimeout: LIMITS.sceneMs,
    // A browser is many processes, and each test starts a server beside it.
    maxWorkers: 1,
    // All files share one process, and so one browser (harness.ts).
    isolate: false,
  },
});
