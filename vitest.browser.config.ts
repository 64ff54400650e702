import { defineConfig } from "vitest/config";

/** Tests in a real Chromium, which is installed if it is missing; they never retry. */
export default defineConfig({
  test: {
    environment: "node",
    // A second, the usual patience, is not much on a machine with more to do than cores.
    expect: { poll: { timeout: 60_000 } },
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/setup.ts"],
    pool: "forks",
    allowOnly: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A browser is many processes, and each test starts a server beside it.
    maxWorkers: 1,
  },
});
