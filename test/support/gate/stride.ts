/**
 * Of the faults, zombies and flipped bits that a test could play, one in so many; 1 plays every one. `npm run verify`
 * sets it, and the night plays all (scripts/verify/steps.ts). Whatever it is, an enumeration of faults plays the first
 * of each kind at each kind of call.
 */
export const STRIDE = strideIn(process.env["CAIRN_STRIDE"]);

function strideIn(text = "1"): number {
  if (!/^[1-9]$/.test(text)) throw new Error(`CAIRN_STRIDE is a number from 1 to 9, not ${JSON.stringify(text)}`);
  return Number(text);
}
