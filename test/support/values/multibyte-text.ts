/** A text of a given length, with characters of several bytes and of two code units. */
export function multibyteText(size: number, pick: number): string {
  const word = `${pick} äß𝄞 `;
  return word
    .repeat(Math.ceil(size / 10))
    .slice(0, size)
    .toWellFormed();
}
