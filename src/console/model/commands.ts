/** The command line and the HTTP request that do the same as a button of the console. */
import { commandLine } from "../../render/words.ts";

export interface Action {
  /** The words after `npx cairn`. */
  readonly words: readonly string[];
  readonly method: "GET" | "POST" | "DELETE";
  /** The path below the API. */
  readonly path: string;
  readonly body?: object;
  /** The API takes an idempotency key for it, so the console may send it again after an answer was lost. */
  readonly isKeyed?: boolean;
}

export const cliOf = ({ words }: Action): string => commandLine(words);

/** The token stays a variable of the shell: a command is copied into chats and histories. */
export function curlOf(
  { method, path, body }: Action,
  of: { readonly base: string; readonly hasToken: boolean },
): string {
  const url = `${of.base.replace(/\/$/, "")}${path}`;
  return [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${quoted(url)}`,
    ...(of.hasToken ? [`-H "Authorization: Bearer $CAIRN_TOKEN"`] : []),
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(" ");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const runPath = (run: string): string => `/runs/${encodeURIComponent(run)}`;
