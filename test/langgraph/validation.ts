/** LangGraph's own suite for checkpoint savers, which registers its tests with the globals of its runner. */
import {
  type CheckpointSaverTestInitializer,
  deltaChannelHistoryTests,
  specTest,
} from "@langchain/langgraph-checkpoint-validation";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CairnSaver } from "../../src/langgraph/saver.ts";

/**
 * The suite expects that a saver stores only the channels that a checkpoint changed. It exempts LangGraph's own memory
 * and SQLite savers, by name, because their checkpoints are complete. So are ours (docs/adr/0073).
 */
const EXEMPT = "should only store channel_values that have changed (based on newVersions)";

/** Registers all tests but that one. `exempted` counts what it left out, once all tests are registered. */
export function validate(initializers: readonly CheckpointSaverTestInitializer<CairnSaver>[]) {
  let exempted = 0;
  const registering = new Proxy(it, {
    apply: (target, self, args: readonly unknown[]) => {
      if (args[0] !== EXEMPT) return Reflect.apply(target, self, args) as unknown;
      exempted += 1;
      return undefined;
    },
  });
  // The runner calls what `describe` is given later, so they stay until the tests of this file are over.
  const suite = { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it: registering };
  Object.assign(globalThis, suite);
  afterAll(() => {
    for (const name of Object.keys(suite)) Reflect.deleteProperty(globalThis, name);
  });
  for (const initializer of initializers) {
    specTest(initializer);
    deltaChannelHistoryTests(initializer);
  }
  return { exempted: () => exempted };
}
