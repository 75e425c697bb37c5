import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./empty.module.css";

interface Props {
  readonly title: string;
  /** What to do next. */
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

/** In place of a list without entries. */
export function Empty({ title, children, action }: Props): ReactNode {
  return (
    <Stack gap="xs" className={classes.empty}>
      <Text fw={600}>{title}</Text>
      <Text size="sm" c="dimmed" component="div">
        {children}
      </Text>
      {action !== undefined && <div>{action}</div>}
    </Stack>
  );
}
