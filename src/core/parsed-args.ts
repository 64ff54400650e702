/**
 * What the schema of a tool made of the arguments of a call, as its intent records it. A schema with a default that is
 * computed, or with a transform, makes another value each time. So the arguments are parsed once, and everything later
 * takes what is recorded here. No record means that the result equals the arguments.
 */
import type { Value } from "./message.ts";

export interface ParsedArgs {
  /**
   * `value`: the result itself, which the tool gets. `projection`: what can be recorded of a result that is not JSON, or
   * that redaction would change. A later beat parses again, and compares with it.
   */
  readonly as: "value" | "projection";
  readonly json: Value;
}
