import { defineConfig } from "vitest/config";

/** Tests of what is deployed, on the real components of SST, which are installed if they are missing; they never retry. */
export default defineConfig({
  test: {
    environment: "node",
    // A second, the usual patience, is not much on a machine with more to do than cores.
    expect: { poll: { timeout: 60_000 } },
    include: ["test/deployment/**/*.test.ts"],
    globalSetup: ["test/deployment/setup.ts"],
    pool: "forks",
    allowOnly: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
  },
});
