/** The memory options of an agent: what its runs recall when they begin, and what they leave when they are done. */
import { firstIssue, parsedOption } from "./issues.ts";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { isName } from "../core/ids.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { MemoryPolicy } from "../ports/agent.ts";

/** The option of an agent. */
export interface Remembering<Task> {
  /** What its runs recall when they begin, and learn when they are done. Default: nothing. */
  readonly memory?: MemoryOptions<Task>;
}

/** What an agent keeps from one run to the next. */
export interface MemoryOptions<Task> {
  /**
   * The name of the memory; default: the agent's name. Agents of one tenant that name the same memory share it, so each
   * of them reads what the others were told.
   */
  readonly scope?: string;
  /** Returns what to search for when a run begins. What is found follows the instructions. Default: nothing is recalled. */
  readonly recall?: MemoryPolicy<Task>["recall"];
  /** How many entries a run recalls: 1 to 20; default 5. They have 8,000 characters together at most. */
  readonly limit?: number;
  /**
   * Returns what to keep of a run whose definition of done holds: at most 16 entries. It must change nothing outside:
   * after a crash it runs again, and an entry that says the same is there once.
   */
  readonly learn?: MemoryPolicy<Task>["learn"];
}

const LIMIT = 5;
const LIMIT_MAX = 20;

const isFunction = (given: unknown): boolean => typeof given === "function";

const schema = builtOnUse(() =>
  z.strictObject({
    scope: z
      .string()
      .refine(isName, "write 1 to 64 letters, digits, - and _, of which the first is a letter")
      .optional(),
    recall: z.custom(isFunction, "write a function of the task that returns a text").optional(),
    limit: z.int().min(1).max(LIMIT_MAX).default(LIMIT),
    learn: z.custom(isFunction, "write a function of the run's view that returns entries").optional(),
  }),
);

export function memoryPolicyOf<Task>(
  name: string,
  options: MemoryOptions<Task> | undefined,
): { readonly memory?: MemoryPolicy } {
  if (options === undefined) return {};
  const parsed = parsedOption(schema(), options);
  if (!parsed.success) {
    throw new AgentInvalid(`the memory of agent ${name}: ${firstIssue(parsed.error)}`);
  }
  const { scope = name, limit } = parsed.data;
  const { recall, learn } = options;
  const policy: MemoryPolicy<Task> = {
    scope,
    limit,
    ...(recall === undefined ? {} : { recall }),
    ...(learn === undefined ? {} : { learn }),
  };
  return { memory: policy };
}
