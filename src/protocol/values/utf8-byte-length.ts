/** Length of a text in UTF-8, in bytes. */
export function utf8ByteLength(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x8_00) bytes += 1;
    else if (isSurrogatePair(unit, text.charCodeAt(index + 1))) {
      bytes += 2;
      index++;
    } else bytes += 2;
  }
  return bytes;
}

/** Whether two UTF-16 units encode one character, which is four bytes in UTF-8. */
function isSurrogatePair(high: number, low: number): boolean {
  return high >= 0xd8_00 && high <= 0xdb_ff && low >= 0xdc_00 && low <= 0xdf_ff;
}
