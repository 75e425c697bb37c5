const DIGITS = /^\d{18,19}$/;

/** Returns the check digit of a number by the Luhn formula. Source: ISO/IEC 7812-1, annex B. */
export function luhnDigit(digits: string): number {
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const value = Number(digits[digits.length - 1 - index]) * (index % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return (10 - (sum % 10)) % 10;
}

/** Returns the ICCID without its Luhn digit; itself where it has none. An ICCID has 18 or 19 digits before that digit. */
export function withoutLuhnDigit(iccid: string): string {
  const rest = iccid.slice(0, -1);
  // Of 19 digits the last may be the Luhn digit by chance: `isSameIccid` tries both.
  return DIGITS.test(rest) && rest.length === 19 && iccid === rest + luhnDigit(rest) ? rest : iccid;
}

/**
 * Whether two ICCIDs name the same SIM: they are equal, or one is the other with its Luhn digit. Source: ITU-T E.118, which
 * ends the number with that digit; some operators leave it out.
 */
export function isSameIccid(one: string, other: string): boolean {
  return one === other || isWithLuhnDigit(one, other) || isWithLuhnDigit(other, one);
}

/** Returns the other forms of an ICCID that name the same SIM: with its Luhn digit, and without. */
export function otherIccids(iccid: string): readonly string[] {
  const rest = iccid.slice(0, -1);
  return [
    ...(DIGITS.test(iccid) ? [`${iccid}${luhnDigit(iccid)}`] : []),
    ...(isWithLuhnDigit(iccid, rest) ? [rest] : []),
  ];
}

function isWithLuhnDigit(long: string, short: string): boolean {
  return DIGITS.test(short) && long === `${short}${luhnDigit(short)}`;
}
