/** What an agent may set of its model requests, and the result in a declared form. */
import { firstIssue, parsedOption } from "./issues.ts";
import * as z from "zod";
import { builtOnUse, fit } from "../codec/fit.ts";
import { objectIn } from "../core/topologies/json-in.ts";
import { describeResult } from "../engine/model/response-format.ts";
import type { Agent, Check, RunView } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { ModelOptions } from "../ports/model-options.ts";

const number = builtOnUse(() => z.number().exactOptional());

const schema = builtOnUse((): z.ZodType<ModelOptions> =>
  z.strictObject({
    temperature: z.number().nonnegative().exactOptional(),
    maxOutputTokens: z.int().positive().exactOptional(),
    topP: number(),
    topK: number(),
    presencePenalty: number(),
    frequencyPenalty: number(),
    stopSequences: z.array(z.string()).exactOptional(),
    seed: z.int().exactOptional(),
    toolChoice: z
      .union([
        z.enum(["auto", "none", "required"]),
        z.strictObject({ type: z.literal("tool"), toolName: z.string().min(1) }),
      ])
      .exactOptional(),
    reasoning: z.enum(["provider-default", "none", "minimal", "low", "medium", "high", "xhigh"]).exactOptional(),
    headers: z
      .record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/), z.string().regex(/^[^\r\n\0]*$/))
      .exactOptional(),
    providerOptions: z.record(z.string(), z.record(z.string(), z.json())).exactOptional(),
  }),
);

/** Throws `AgentInvalid` for options that the AI SDK does not know. */
export function modelOptionsOf(name: string, options: ModelOptions | undefined): Pick<Agent, "modelOptions"> {
  if (options === undefined) return {};
  const parsed = parsedOption(schema(), options);
  if (parsed.success) return { modelOptions: parsed.data };
  throw new AgentInvalid(`the modelOptions of agent ${name}: ${firstIssue(parsed.error)}`);
}

/** What an agent says about its result. */
interface ResultOptions<Task extends z.ZodType, Output extends z.ZodType> {
  readonly name: string;
  readonly done?: readonly Check<z.output<Task>>[];
  readonly result?: Agent<Task>["result"];
  readonly output?: Output;
}

/** How the result comes about, and what has to hold of it. Throws `AgentInvalid` for an unusable `output`. */
export function resultOptionsOf<Task extends z.ZodType, Output extends z.ZodType>(
  options: ResultOptions<Task, Output>,
): Pick<Agent<Task, Output>, "done" | "result" | "output"> {
  const { name, done = [], result, output } = options;
  if (output === undefined) return { done, result: result ?? (({ text }) => text) };
  if (result !== undefined) throw new AgentInvalid(`agent ${name} has an output and a result: write one of them`);
  const structured = structuredResult(name, output);
  return { done: [...done, structured.check], result: structured.result, output };
}

/** The check that the result of a run has the declared form, and the result in that form. Throws `AgentInvalid`. */
function structuredResult(
  name: string,
  output: z.ZodType,
): { readonly check: Check; readonly result: Agent["result"] } {
  try {
    describeResult(output);
  } catch (error) {
    throw new AgentInvalid(`agent ${name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const holds = ({ text }: Pick<RunView, "text">): true | string => {
    const found = objectIn(text);
    if (found === null) return "answer with the JSON object of the result alone";
    const parsed = fit(output, found);
    if (parsed.kind === "fits") return true;
    if (parsed.kind === "threw") return `the result does not fit: ${parsed.why}`;
    return parsed.issues.map(({ path, message }) => `${path.map(String).join(".") || "result"}: ${message}`).join("; ");
  };
  const result: Agent["result"] = ({ text }) => {
    const parsed = fit(output, objectIn(text));
    return parsed.kind === "fits" ? (parsed.output as ReturnType<Agent["result"]>) : null;
  };
  return { check: { name: "result-fits-output", holds }, result };
}
