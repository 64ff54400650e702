/** The context options of an agent: how much of its transcript its model may be shown, and what writes summaries of it. */
import { firstIssue, parsedOption } from "./issues.ts";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import type { Agent, Fallback, ModelChoice } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { type ModelWithPrice, roleModels } from "./topology.ts";

/** When a summary replaces older messages that the model sees, and which model writes it. */
export interface ContextOptions {
  /**
   * The most tokens of a request to the model. After a request with over 80 % of it, a summary replaces older messages.
   * Without this option, that happens when the provider reports that the context is too long.
   */
  readonly tokensMax?: number;
  /**
   * The model that writes the summaries: a name of `models`, or a model as `model` takes it. It costs its own price. If
   * it fails, the working model writes the summary. Default: the working model.
   */
  readonly model?: ModelChoice | ModelWithPrice;
  /** What a summary has to contain. Default: what was done, decided and asked for, and what is still open. */
  readonly instructions?: string;
}

/** The name of a model for summaries that the agent gives in place. */
const IN_PLACE = "context.model";

const CHARACTERS_MAX = 20_000;

const isModel = (given: unknown): boolean =>
  typeof given === "string"
    ? given !== ""
    : typeof given === "object" && given !== null && ("doGenerate" in given || "model" in given);

const contextSchema = builtOnUse(() =>
  z.strictObject({
    tokensMax: z.int().positive().optional(),
    model: z.custom<ModelChoice | ModelWithPrice>(isModel, "write a name of its models, or a model").optional(),
    instructions: z.string().trim().min(1).max(CHARACTERS_MAX).optional(),
  }),
);

/** What the options say, and the models of the agent with the one for summaries. Throws `AgentInvalid`. */
export function contextOptionsOf(
  name: string,
  options: ContextOptions | undefined,
  models: Readonly<Record<string, Fallback>>,
): Required<Pick<Agent, "contextTokensMax" | "models">> & Pick<Agent, "summaries"> {
  if (options === undefined) return { contextTokensMax: null, models };
  const parsed = parsedOption(contextSchema(), options);
  if (!parsed.success) {
    throw new AgentInvalid(`the context of agent ${name}: ${firstIssue(parsed.error)}`);
  }
  const { tokensMax = null, model, instructions } = parsed.data;
  const told = instructions === undefined ? {} : { instructions };
  if (model === undefined) {
    return { contextTokensMax: tokensMax, models, ...(instructions === undefined ? {} : { summaries: told }) };
  }
  if (typeof model === "string" && Object.hasOwn(models, model)) {
    return { contextTokensMax: tokensMax, models, summaries: { model, ...told } };
  }
  if (typeof model === "string" && !model.includes(":")) {
    throw new AgentInvalid(
      `the context of agent ${name} names the model ${JSON.stringify(model)}, and the agent has no such model: ` +
        `write models: { ${JSON.stringify(model)}: ... }, or a model such as "anthropic:claude-haiku-4-5"`,
    );
  }
  const given = roleModels(name, { [IN_PLACE]: model });
  return {
    contextTokensMax: tokensMax,
    models: { ...models, ...given },
    summaries: { model: IN_PLACE, ...told },
  };
}
