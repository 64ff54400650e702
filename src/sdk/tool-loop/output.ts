/** The `output` of an AI SDK agent (`Output.object({ schema })` and others) as the result of a run. */
import * as z from "zod";
import { asJson, sentenceOf } from "../../codec/value.ts";
import type { Json } from "../../core/json.ts";
import { objectIn } from "../../core/topologies/json-in.ts";
import type { Agent, Check, RunView } from "../../ports/agent.ts";
import { AgentInvalid } from "../../ports/agent-invalid.ts";

interface OutputLike {
  readonly name: string;
  readonly responseFormat: PromiseLike<{ readonly type: string; readonly schema?: object } | undefined>;
  readonly parseCompleteOutput: (reply: { readonly text: string }, context: object) => Promise<unknown>;
}

/** Null: the result is the text. */
export function parsedOutputOf(
  name: string,
  given: unknown,
): (Pick<Agent, "result" | "output"> & { readonly check: Check }) | null {
  const output = given as Partial<OutputLike>;
  const { parseCompleteOutput, responseFormat } = output;
  if (typeof parseCompleteOutput !== "function" || typeof responseFormat?.then !== "function") {
    throw new AgentInvalid(`agent ${name}: output is none: write Output.object({ schema }) of the AI SDK`);
  }
  if (output.name === "text") return null;
  // The AI SDK makes the JSON Schema in a promise. It is there before the first request, which waits for stores.
  const schema = z.looseObject({});
  z.globalRegistry.add(schema, ANY);
  void Promise.resolve(responseFormat).then(
    (format) => {
      const { $schema: _, ...shown } = (format?.schema ?? {}) as { readonly $schema?: unknown };
      z.globalRegistry.add(schema, { ...ANY, ...shown, type: "object" });
    },
    () => undefined,
  );
  const parsed = new WeakMap<object, Json>();
  const parse = async (view: RunView<never>): Promise<true | string> => {
    const found = await Promise.allSettled(textsIn(view.text).map((text) => parseCompleteOutput({ text }, CONTEXT)));
    const first = found.find((each) => each.status === "fulfilled");
    if (first === undefined) return `the result does not fit: ${whyOf(found)}`;
    const json = asJson(first.value);
    if (!json.ok) return `the result is no JSON: ${json.why}`;
    parsed.set(view, json.json);
    return true;
  };
  return {
    output: schema,
    check: { name: "result-fits-output", holds: parse },
    // The check of the same view came before.
    result: (view) => parsed.get(view) ?? null,
  };
}

const ANY = { additionalProperties: true } as const;

/** The reply, and the object in it where the model wrote something around it. */
function textsIn(text: string): readonly string[] {
  const found = objectIn(text);
  return found === null ? [text] : [text, JSON.stringify(found)];
}

function whyOf(found: readonly PromiseSettledResult<unknown>[]): string {
  const errors = found.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
  const last = errors.at(-1);
  const cause = last instanceof Error && last.cause !== undefined ? last.cause : last;
  return sentenceOf(cause);
}

const CONTEXT = { response: { id: "", timestamp: new Date(0), modelId: "" }, usage: {}, finishReason: "stop" };
