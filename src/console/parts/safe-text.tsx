import { type ReactNode, useState } from "react";
import { clip, hasMarks, splitMarks } from "./text-marks.ts";
import classes from "./safe-text.module.css";

interface Props {
  readonly text: string;
  /** Characters that are shown at first; the rest on request. */
  readonly max?: number;
  /** Whether line breaks and tabs are kept, as in a log. */
  readonly isMultiline?: boolean;
}

const MAX_LENGTH = 10_000;

/**
 * A text from a device or a person. Control characters and marks that change the direction of writing are shown as what
 * they are; a direction inside the text does not reach beyond it.
 */
export function SafeText({ text, max = MAX_LENGTH, isMultiline = false }: Props): ReactNode {
  // As nearly all are, in lists of hundreds of thousands.
  if (text.length <= max && !hasMarks(text))
    return <bdi className={isMultiline ? classes.multiline : classes.text}>{text}</bdi>;
  return <MarkedText text={text} max={max} isMultiline={isMultiline} />;
}

function MarkedText({ text, max, isMultiline }: Required<Props>): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const { shown, hidden } = isWhole ? { shown: text, hidden: 0 } : clip(text, max);
  return (
    <bdi className={isMultiline ? classes.multiline : classes.text}>
      {splitMarks(shown, isMultiline).map((part, index) =>
        part.isMark ? (
          // The parts have no identity of their own.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={index} className={classes.mark} title={part.title}>
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
      {hidden > 0 && (
        <>
          {"… "}
          <button type="button" className={classes.more} onClick={() => setWhole(true)}>
            Show all ({hidden.toLocaleString("en")} more characters)
          </button>
        </>
      )}
    </bdi>
  );
}
