/** What the console needs of `node:util`: its lines have no colours, so nothing is to be stripped. */
export const stripVTControlCharacters = (text: string): string => text;
