import "./test/support/gate/machine.ts";
import { defineConfig } from "vitest/config";
import { LIMITS } from "./test/support/gate/limits.ts";

/** Tests in a real Chromium, which is installed if it is missing. */
export default defineConfig({
  test: {
    environment: "node",
    expect: { poll: { timeout: LIMITS.eventMs } },
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/setup.ts"],
    pool: "forks",
    allowOnly: false,
    testTimeout: LIMITS.sceneMs,
    hookTimeout: LIMITS.sceneMs,
    // A browser is many processes, and each test starts a server beside it.
    maxWorkers: 1,
  },
});
