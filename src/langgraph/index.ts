/**
 * `cairn-run/langgraph`: a checkpointer for LangGraph JS that keeps its threads in a store of cairn, embedded or on AWS.
 *
 * @example
 *   const checkpointer = await openCheckpointer({ retention: { checkpointsMax: 100, days: 30 } });
 *   const graph = builder.compile({ checkpointer });
 *   await graph.invoke(input, { configurable: { thread_id: "customer-7" } });
 */
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { CairnError } from "../client/errors.ts";
import { openNamedStore } from "../client/open-store.ts";
import { type Retention, assertRetention } from "./retention.ts";
import type { CairnSaver } from "./saver.ts";

export type { CairnSaver } from "./saver.ts";
export type { Retention } from "./retention.ts";
export { CairnError } from "../client/errors.ts";

export interface CheckpointerOptions {
  /** The directory of the local store; default `.cairn`, as for the command line. */
  readonly store?: string;
  /** The name of a world, such as `aws`; its settings come from the environment, as for the command line. */
  readonly world?: string;
  /** Default: everything stays until `deleteThread`. */
  readonly retention?: Partial<Retention>;
  /** Default: LangGraph's JSON. */
  readonly serde?: SerializerProtocol;
}

/**
 * Opens a store, and creates a missing one.
 *
 * @throws CairnError `PackageMissing` without the peer `@langchain/langgraph-checkpoint`, `RetentionInvalid`, or the code
 * of the world's error if the store cannot be opened
 */
export async function openCheckpointer(options: CheckpointerOptions = {}): Promise<CairnSaver> {
  const { store, world: name, serde } = options;
  const retention = { checkpointsMax: null, days: null, ...options.retention };
  assertRetention(retention);
  const { CairnSaver: Saver } = await loadSaver(() => import("./saver.ts"));
  const opened = await openNamedStore({ store, world: name });
  const { objects, clock } = opened.world;
  return new Saver({ objects, clock, retention, serde, close: async () => opened.close() });
}

/** Loads the class that extends one of LangGraph. Users of cairn without LangGraph do not install that package. */
export async function loadSaver<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND";
    const [, missing] = /'(@langchain\/[^']+)'/.exec(isMissing ? cause.message : "") ?? [];
    if (missing === undefined) throw cause;
    throw new CairnError(
      `cairn-run/langgraph needs the package ${missing}, which is not installed; ` +
        "type: npm install @langchain/langgraph-checkpoint @langchain/core",
      { code: "PackageMissing", status: null, facts: { missing }, cause },
    );
  }
}
