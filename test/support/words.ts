/** Words of a given length, with characters of more than one byte and more than one code unit. */
export function textOf(size: number, pick: number): string {
  const word = `${pick} äß𝄞 `;
  return word
    .repeat(Math.ceil(size / 10))
    .slice(0, size)
    .toWellFormed();
}
