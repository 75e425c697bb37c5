import { Group, Title } from "@mantine/core";
import { type ReactNode, useEffect, useRef } from "react";

interface Props {
  readonly title: string;
  /** In place of the title on the page, such as with a device's name as `SafeText`. */
  readonly heading?: ReactNode;
  /** Buttons at the end of the line. */
  readonly actions?: ReactNode;
}

/** Whether a page was shown before: the first one leaves the focus where it is. */
let wasShown = false;

/** Heading of a page, which is also the title of the window. It has the focus after a change of the page. */
export function PageTitle({ title, heading, actions }: Props): ReactNode {
  const element = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (wasShown && document.activeElement?.closest("main form") === null) element.current?.focus();
    wasShown = true;
  }, []);
  return (
    <Group justify="space-between" gap="sm" mb="md">
      <title>{`${title} · edge-control`}</title>
      <Title order={1} ref={element} tabIndex={-1}>
        {heading ?? title}
      </Title>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}

/** Gives the focus to the heading of the page, where what had it is replaced. */
export function focusPageTitle(): void {
  document.querySelector<HTMLElement>("main h1")?.focus();
}
