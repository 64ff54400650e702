/** Runs a suite on worlds that may break a contract, to see which cases notice. */
import type { Case } from "../../src/testing/conformance/index.ts";

/** The names of the cases that fail. */
export async function failing<World>(cases: readonly Case<World>[], fresh: () => World): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { name, run } of cases) {
    try {
      await run(fresh());
    } catch {
      failed.push(name);
    }
  }
  return failed;
}
