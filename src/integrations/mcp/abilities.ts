/** What the client of an MCP request can do, by the capabilities that it declares. Pure. */
import type { ClientCapabilities } from "@modelcontextprotocol/server";
import { TASKS } from "./task.ts";

export interface Abilities {
  /** It shows forms to its human. */
  readonly elicits: boolean;
  readonly tasks: boolean;
}

export function abilitiesIn(declared: ClientCapabilities | undefined): Abilities {
  const { elicitation, extensions = {} } = declared ?? {};
  // An empty object means forms. A client that names only URLs cannot show one.
  const elicits = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
  return { elicits, tasks: TASKS in extensions };
}
