import { z } from "zod";

const CONTROL_OR_BIDI = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;
const CONTROL_OR_BIDI_EXCEPT_LINE_BREAKS = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * One line of text from a device, such as a name or a version. Control characters, which a terminal would interpret, are
 * replaced by U+FFFD: they are safe to print then, and an odd value does not get the device refused.
 */
export function sanitizedLine(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .overwrite((text) => text.replaceAll(CONTROL_OR_BIDI, "\u{fffd}"));
}

/** As `sanitizedLine`, for text that may have several lines. */
export function sanitizedText(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .overwrite((text) => text.replaceAll(CONTROL_OR_BIDI_EXCEPT_LINE_BREAKS, "\u{fffd}"));
}

/** Text for people, without control characters, which could forge entries of a list or a log. */
export const displayText = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(
      /^[^\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]*$/u,
      "must not contain control characters or half of a surrogate pair",
    )
    .refine((text) => text === "" || text.trim() !== "", "must not consist of spaces alone");
