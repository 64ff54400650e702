import { defineConfig } from "vitest/config";

/** Tests against LocalStack, which is started if it does not answer; they never retry. */
export default defineConfig({
  test: {
    environment: "node",
    // A second, the usual patience, is not much on a machine with more to do than cores.
    expect: { poll: { timeout: 60_000 } },
    include: ["test/localstack/**/*.test.ts"],
    globalSetup: ["test/localstack/setup.ts"],
    pool: "forks",
    allowOnly: false,
    // A deployment takes half a minute alone, and two beside other work.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One emulator on a small machine: what waits for it in parallel only waits longer.
    maxWorkers: 1,
  },
});
