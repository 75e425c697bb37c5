import { z } from "zod";

const CONTROL_OR_BIDI = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;
const CONTROL_OR_BIDI_EXCEPT_LINE_BREAKS = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * A name, a version or the like from a device: one line, in which characters that a terminal would act on become
 * replacement characters. They are neither refused nor kept: an odd version must not keep a device away, and whoever
 * reads it, by whatever program, must not have to beware of it.
 */
export function sanitizedLine(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .overwrite((text) => text.replaceAll(CONTROL_OR_BIDI, "\u{fffd}"));
}

/** The same for sentences, which may have several lines. */
export function sanitizedText(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .overwrite((text) => text.replaceAll(CONTROL_OR_BIDI_EXCEPT_LINE_BREAKS, "\u{fffd}"));
}
