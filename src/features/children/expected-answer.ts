/**
 * The answer of a child run, judged before the run ends. Its parent makes no other child for a hand-off with effects, and
 * an end is not taken back. So a run that acted outside and answers what its parent will not take learns what is wrong
 * while it can go on, with the calls and keys that it has. It has the schema of the parent's tool as JSON, since the
 * parent's code may not be there. Its parent judges the last answer again.
 */
import { mayTryAgain } from "../../core/policy/expected-answer.ts";
import * as z from "zod";
import { bounded } from "../../codec/value.ts";
import type { ExpectedAnswer } from "../../core/child.ts";
import type { Json } from "../../core/json.ts";
import { BOUNDS } from "../../core/limits.ts";
import { whyLost } from "../../core/topologies/echo.ts";
import type { ChildRun, Tool } from "../../ports/agent.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

/** The schema is stored with the state of the child. A larger one is left to the parent. */
const SCHEMA_CHARS_MAX = 8_192;

/** Undefined: the child works without a parent. */
export function expectedAnswerOf({
  child,
  output,
  used,
}: {
  readonly child: ChildRun;
  readonly output: Tool["output"] | undefined;
  /** How many children were made for the call before. */
  readonly used: number;
}): ExpectedAnswer | undefined {
  if (!child.wait) return undefined;
  const { mayEcho } = child;
  const tries = Math.max(1, child.tries - used);
  const terms: ExpectedAnswer = mayEcho === undefined ? { tries } : { tries, mayEcho };
  const schema = output === undefined || output === null ? null : schemaAsJson(output);
  return schema === null ? terms : { ...terms, schema };
}

/** Null: it has no JSON Schema, or a large one. */
function schemaAsJson(output: z.ZodType): Json {
  let isCaught = false;
  try {
    const schema = z.toJSONSchema(output, {
      io: "input",
      target: "draft-7",
      unrepresentable: "any",
      override: ({ zodSchema, jsonSchema }) => {
        isCaught ||= zodSchema._zod.def.type === "catch";
        // A format may be read more strictly than it was written, and a pattern loses its flags.
        const lost = hasFlags(zodSchema) ? ["format", "pattern", "allOf"] : ["format"];
        const names = changesInput(zodSchema) ? Object.keys(jsonSchema) : lost;
        for (const name of names) Reflect.deleteProperty(jsonSchema, name);
      },
    });
    return isCaught || JSON.stringify(schema).length > SCHEMA_CHARS_MAX ? null : (schema as Json);
  } catch {
    return null;
  }
}

/**
 * It takes more than its JSON Schema says: it makes a number of a text, trims a text before it looks at it, or has a
 * function for that.
 */
function changesInput(schema: z.core.$ZodType): boolean {
  const def = schema._zod.def as {
    readonly coerce?: boolean;
    readonly checks?: readonly z.core.$ZodCheck[];
    readonly in?: z.core.$ZodType;
  };
  const overwrites = def.checks?.some((check) => check._zod.def.check === "overwrite") === true;
  return def.coerce === true || overwrites || def.in?._zod.def.type === "transform";
}

function hasFlags(schema: z.core.$ZodType): boolean {
  const { pattern, checks = [] } = schema._zod.def as {
    readonly pattern?: RegExp;
    readonly checks?: readonly z.core.$ZodCheck[];
  };
  const patterns = [pattern, ...checks.map((check) => (check._zod.def as { readonly pattern?: RegExp }).pattern)];
  return schema._zod.def.type === "string" && patterns.some((each) => each !== undefined && each.flags !== "");
}

/** Why the answer goes back to the model; null: the run ends with it. */
export async function whyReturned(run: ActiveRun, answer: Json): Promise<string | null> {
  const { expected, nudges, task } = run.state;
  // Where nothing was done outside, its parent makes another child, which has seen none of this one's mistakes.
  if (expected === undefined || nudges >= BOUNDS.nudgesMax || !mayTryAgain(run.state)) return null;
  const misfit = expected.schema === undefined ? null : misfitOf(expected.schema, answer);
  if (misfit !== null) return bounded(`the answer does not fit: ${misfit}`);
  return whyLost({ task: await run.json(task), answer, mayEcho: expected.mayEcho === true });
}

/** Null: it fits, or only its parent can tell. */
function misfitOf(schema: Json, answer: Json): string | null {
  try {
    const parsed = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(answer);
    return parsed.success ? null : z.prettifyError(parsed.error);
  } catch {
    return null;
  }
}
