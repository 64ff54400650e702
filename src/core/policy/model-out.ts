/**
 * What it means for a run that a request to its model is out, however it was sent. Such a run calls no model, and its
 * texts wait for the reply.
 */
import { appendUserMessage } from "../calls/open-calls.ts";
import { withFiles } from "../file.ts";
import type { HeldText } from "../model-out.ts";
import type { State } from "../state.ts";

type OfModelOut = Pick<State, "modelOut">;

/** A request to the model is out, and its reply was not taken in. */
export const isModelOut = ({ modelOut }: OfModelOut): boolean => modelOut !== undefined;

/** The texts that follow the reply of the request that is out. */
export const heldTexts = ({ modelOut }: OfModelOut): readonly HeldText[] => modelOut?.held ?? [];

/** A user's text. While a request is out it is held: its place in the transcript is after the reply (schedule 196). */
export function takeText(
  state: State,
  { text, by, files }: HeldText,
  from: { readonly at: number; readonly source: string },
): State {
  const words = { text, by, ...withFiles(files) };
  const { modelOut } = state;
  if (modelOut === undefined) return appendUserMessage(state, { ...words, ...from });
  return { ...state, modelOut: { ...modelOut, held: [...modelOut.held, words] } };
}

/** The state after the end of the request that was out, if one was, with the texts that it held back. */
export function withoutModelOut(state: State, at: number): State {
  const { modelOut: _, ...rest } = state;
  return heldTexts(state).reduce<State>((next, words) => appendUserMessage(next, { ...words, at }), rest);
}
