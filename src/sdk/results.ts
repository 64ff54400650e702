/** The options of an agent for results that are too long to show. */
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { SIZES } from "../codec/limits.ts";
import { READ_RESULT } from "../core/calls/stored-values.ts";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";

export interface ResultsOptions {
  /** What the model gets of results that are too long to show, beside their size, head and tail. */
  readonly results?: {
    /** Whether it gets the tool `cairn_read`, with which it reads the rest. Default: true. */
    readonly read?: boolean;
    /**
     * Whether it gets a summary of each such result, or of those of the named tools. The model of `context.model` makes
     * it, or the working one. Default: false.
     */
    readonly summary?: boolean | readonly string[];
  };
}

const schema = builtOnUse(() =>
  z.strictObject({
    read: z.boolean().optional(),
    summary: z
      .union([z.boolean(), z.array(z.string().min(1).max(SIZES.toolCharactersMax)).min(1).max(SIZES.toolsMax)])
      .optional(),
  }),
);

/** What the options say. Throws `AgentInvalid`, also for a tool with the name of the one that reads. */
export function resultsOf(
  name: string,
  {
    results,
    tools,
    mcp,
  }: ResultsOptions & { readonly tools: Readonly<Record<string, unknown>>; readonly mcp?: unknown },
): Pick<Agent, "readsResults" | "summarisedResults"> {
  if (Object.hasOwn(tools, READ_RESULT)) {
    throw new AgentInvalid(`agent ${name} has a tool ${READ_RESULT}, which is a name of cairn: give it another name`);
  }
  if (results === undefined) return {};
  const parsed = schema().safeParse(results);
  if (!parsed.success) {
    throw new AgentInvalid(
      `the results of agent ${name}: write read: true or false, and summary: true, false or a list of tools`,
    );
  }
  const { read = true, summary = false } = parsed.data;
  const unknown =
    typeof summary === "boolean" || mcp !== undefined ? undefined : summary.find((each) => !Object.hasOwn(tools, each));
  if (unknown !== undefined) {
    throw new AgentInvalid(
      `the results of agent ${name} have summary of ${JSON.stringify(unknown)}, which is none of its tools: write one of ${Object.keys(tools).toSorted().join(", ")}`,
    );
  }
  return {
    ...(read ? {} : { readsResults: false }),
    ...(summary === false ? {} : { summarisedResults: summary === true ? "all" : summary }),
  };
}
