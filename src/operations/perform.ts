/** Runs operations of the operation table, and records each change in the audit log. The CLI and the API come here. */
import type * as z from "zod";
import { recorded } from "./access/audit.ts";
import type { AnyOperation, Operation, OperationContext } from "./operation.ts";

type Performed<Input extends z.ZodObject, Outcome extends { readonly kind: string }, Checked> = Pick<
  Operation<Input, Outcome, Checked>,
  "input" | "run" | "check" | "settle" | "writes" | "typed"
>;

/** Throws if `given` does not fit the input: the CLI and the API check their input before. */
export async function performOperation<
  Input extends z.ZodObject,
  Outcome extends { readonly kind: string },
  Checked = undefined,
>(operation: Performed<Input, Outcome, Checked>, context: OperationContext, given: z.input<Input>): Promise<Outcome> {
  const input = operation.input.parse(given);
  const check = await operation.check?.(context, input);
  if (check?.kind === "refused") return check.outcome;
  // A row without a check hands nothing to its action.
  const checked = check?.checked as Checked;
  if (!operation.writes) return operation.run(context, input, checked);
  const settled = operation.settle?.(context, input) ?? { run: runIn(input), input };
  const change = { typed: operation.typed, input: settled.input, run: settled.run };
  return recorded(context, change, () => operation.run(context, settled.input, checked));
}

/** The same for a row of which only the uniform type is known. `input` was parsed before. */
export const performAny = (
  row: AnyOperation,
  context: OperationContext,
  input: Readonly<Record<string, unknown>>,
): Promise<{ readonly kind: string }> =>
  performOperation(row as unknown as Performed<z.ZodObject, { readonly kind: string }, unknown>, context, input);

const runIn = (input: object): string | null => ("run" in input && typeof input.run === "string" ? input.run : null);
