/** Reads the body of a chat protocol field by field: what is missing or of another form reads as empty. */
import { ApiProblem, requestInvalid } from "../api/problem.ts";

export type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

export const listIn = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : [];

export const invalid = (pointer: string, detail: string): ApiProblem => requestInvalid([{ pointer, detail }]);

/** `what`: the word of the protocol for the conversation. */
export const onlyText = (what: "chat" | "thread"): ApiProblem =>
  new ApiProblem({
    status: 415,
    code: "MediaTypeUnsupported",
    detail: `a message of a ${what} holds text only: send files with POST /runs/{run}/messages`,
  });
