/** The command line and the HTTP request that do the same as a button of the console. */
import type { InputTo } from "../../operations/caller-outcome.ts";
import { type FieldsIn, PLACES, type RoutedOperation } from "../../operations/places.ts";
import { commandLine } from "../../render/words.ts";

export interface ConsoleAction {
  /** The words after `npx cairn`. */
  readonly words: readonly string[];
  readonly method: "GET" | "POST" | "DELETE";
  /** The path below the API. */
  readonly path: string;
  readonly body?: object;
  /** The API takes an idempotency key for it, so the console may send it again after an answer was lost. */
  readonly isKeyed?: boolean;
}

/** It speaks to this server, whatever the store and the folder of who types it. */
export const cliOf = ({ words }: Pick<ConsoleAction, "words">, base: string): string =>
  commandLine([...words, "--api", base]);

/** The token stays a variable of the shell: a command is copied into chats and histories. */
export function curlOf(
  { method, path, body }: ConsoleAction,
  { base, hasToken }: { readonly base: string; readonly hasToken: boolean },
): string {
  const url = `${base.replace(/\/$/, "")}${path}`;
  return [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${quoted(url)}`,
    ...(hasToken ? [`-H "Authorization: Bearer $CAIRN_TOKEN"`] : []),
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`]),
  ].join(" ");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The fields that the path of the operation needs. */
type PathFields<N extends RoutedOperation> = {
  readonly [Field in FieldsIn<(typeof PLACES)[N][1]>[number]]: string | number;
};

/** Where the API has the operation. */
export const pathOf = <N extends RoutedOperation>(name: N, fields: PathFields<N>): string =>
  filled(PLACES[name][1], fields);

const filled = (path: string, fields: Readonly<Record<string, unknown>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(fields[field])));

/** Of one of several operations: the input of one of them. */
type InputAt<N extends RoutedOperation> = N extends unknown ? InputTo<N> : never;

/** The request of the operation with that input: what its path does not take is the body. */
export function requestOf<N extends RoutedOperation>(name: N, input: InputAt<N>): Omit<ConsoleAction, "words"> {
  const [method, path, kind] = PLACES[name];
  const rest = Object.entries(input).filter(([field, value]) => value !== undefined && !path.includes(`{${field}}`));
  const request = { method: METHODS[method], path: filled(path, { ...input }), isKeyed: kind === "withKey" };
  return method === "post" ? { ...request, body: Object.fromEntries(rest) } : request;
}

const METHODS = { get: "GET", post: "POST", delete: "DELETE" } as const;
