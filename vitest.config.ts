import { configDefaults, defineConfig } from "vitest/config";

/** Tests never retry: one that fails now and then has found something. */
export default defineConfig({
  test: {
    environment: "node",
    // A second, the usual patience, is not much on a machine with more to do than cores.
    expect: { poll: { timeout: 60_000 } },
    include: ["test/**/*.test.ts"],
    // They need an emulator, a browser or SST's platform, and have configurations of their own.
    exclude: [...configDefaults.exclude, "test/localstack/**", "test/browser/**", "test/deployment/**"],
    pool: "forks",
    allowOnly: false,
    // A test that types a dozen commands takes two minutes where each of them takes ten seconds.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // On two cores: every third test waits for processes or timers. More of them would only wait for each other.
    maxWorkers: 3,
  },
});
