import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";
import classes from "./note.module.css";

export type NoteKind = "good" | "info" | "warn" | "bad";

const ICONS: Readonly<Record<NoteKind, IconName>> = { good: "check", info: "info", warn: "alert", bad: "cross" };

interface Props {
  readonly kind: NoteKind;
  readonly title: ReactNode;
  readonly children?: ReactNode;
  /** Whether screen readers announce it when it appears. */
  readonly isAnnounced?: boolean;
}

/** A message on the page. Its kind is shown by an icon and a colour. */
export function Note({ kind, title, children, isAnnounced = true }: Props): ReactNode {
  return (
    <div
      className={classes.note}
      data-kind={kind}
      role={isAnnounced ? (kind === "bad" ? "alert" : "status") : undefined}
    >
      <span className={classes.icon}>
        <Icon name={ICONS[kind]} />
      </span>
      <div className={classes.body}>
        <Text size="sm" fw={600} component="div">
          {title}
        </Text>
        {children !== undefined && (
          <Text size="sm" component="div">
            {children}
          </Text>
        )}
      </div>
    </div>
  );
}
