import { Button, Group, Text } from "@mantine/core";
import { type ReactNode, useRef, useState } from "react";
import { copyText } from "../../parts/copy-text.ts";
import { Icon } from "../../parts/icon.tsx";
import classes from "./enrol.module.css";

interface Props {
  readonly label: string;
  readonly command: string;
}

/** A command that is typed off the screen: no line ends inside of a word, where one would read a space. */
export function CommandLine({ label, command }: Props): ReactNode {
  const element = useRef<HTMLElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => setCopied(await copyText(command, element.current));
  return (
    <div>
      <Group justify="space-between" mb={4}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name={isCopied ? "check" : "copy"} size={14} />}
          onClick={() => void copy()}
        >
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </Group>
      <code ref={element} className={classes.command}>
        {command.split(" ").flatMap((word, index) => [
          index === 0 ? "" : " ",
          // The words have no identity of their own.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={index} className={classes.word}>
            {word}
          </span>,
        ])}
      </code>
    </div>
  );
}
