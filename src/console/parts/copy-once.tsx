import { Button, Stack, Text } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Icon } from "./icon.tsx";
import classes from "./copy-once.module.css";

/**
 * Copies a text and returns whether that worked. Browsers have the clipboard only over HTTPS and on loopback; otherwise the
 * element that shows the text is selected, and copied as older browsers do.
 */
export async function copyText(text: string, element: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (!element) return false;
    getSelection()?.selectAllChildren(element);
    // The only way without a secure context.
    // oxlint-disable-next-line typescript/no-deprecated
    return document.execCommand("copy");
  }
}

interface Props {
  /** What the value is, such as "API key". */
  readonly label: string;
  readonly value: string;
  /** A note below it; by default that it is shown once. */
  readonly note?: ReactNode;
}

/** A value to copy, such as a secret that is shown once. */
export function CopyOnce({
  label,
  value,
  note = "It is shown only now: store it before you go on.",
}: Props): ReactNode {
  const element = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // What had the focus in a dialog is gone as soon as the value is there.
  useEffect(() => {
    if (button.current?.closest("dialog")) button.current.focus();
  }, []);
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const copy = async (): Promise<void> => setState((await copyText(value, element.current)) ? "copied" : "failed");
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <div className={classes.row}>
        <code ref={element} className={classes.value}>
          {value}
        </code>
        <Button
          ref={button}
          variant="default"
          size="compact-sm"
          className={classes.button}
          leftSection={<Icon name={state === "copied" ? "check" : "copy"} size={16} />}
          onClick={() => void copy()}
        >
          {state === "copied" ? "Copied" : "Copy"}
        </Button>
      </div>
      <Text size="xs" c="dimmed" component="div" role="status">
        {state === "failed"
          ? "The browser does not permit copying here: it is selected, copy it with the keyboard."
          : note}
      </Text>
    </Stack>
  );
}
