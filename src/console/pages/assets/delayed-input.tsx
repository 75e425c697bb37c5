import { TextInput } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";

const SEARCH_DELAY_MS = 150;

interface Props {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly maxLength: number;
  readonly onChange: (value: string) => void;
}

/** A field whose text takes effect a moment after the last letter, so that not each letter is a request. */
export function DelayedInput({ label, placeholder, value, maxLength, onChange }: Props): ReactNode {
  const [typed, setTyped] = useState(value);
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  // The address may change by itself: by the browser's buttons, or by "Clear".
  // oxlint-disable-next-line react/set-state-in-effect
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value) return undefined;
    const timer = setTimeout(() => latest.current(typed.trim()), SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={typed}
      maxLength={maxLength}
      spellCheck={false}
      autoComplete="off"
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
}
