import "./test/support/gate/machine.ts";
import { defineConfig } from "vitest/config";
import { LIMITS } from "./test/support/gate/limits.ts";

/** Tests of what is deployed, on the real components of SST, which are installed if they are missing. */
export default defineConfig({
  test: {
    environment: "node",
    expect: { poll: { timeout: LIMITS.eventMs } },
    include: ["test/deployment/**/*.test.ts"],
    globalSetup: ["test/deployment/setup.ts"],
    pool: "forks",
    allowOnly: false,
    testTimeout: LIMITS.sceneMs,
    hookTimeout: LIMITS.sceneMs,
    maxWorkers: 2,
  },
});
