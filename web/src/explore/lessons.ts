// A lesson: a claim, changes of its scenario that show it, a question, and the answer behind a fold.
import { button, element } from "../theme";
import { changed, quoted } from "./toml";

export interface Lesson {
  name: string;
  title: string;
  claim: string;
  question: string;
  answer: string;
  sources: string[];
  scenario: string;
  step: { say: string; set: Record<string, string> }[];
}

/** Returns a scenario's text with keys like path.rtt and flow.0.cc changed. */
export function withSettings(text: string, settings: Record<string, string>): string {
  let made = text;
  for (const [key, value] of Object.entries(settings)) {
    const [table, place, name] = key.split(".");
    if (table === "flow") made = changed(made, Number(place), name ?? "", quoted(value));
    else if (table === "path") made = changed(made, "path", place ?? "", quoted(value));
    else made = changed(made, "", key, quoted(value));
  }
  return made;
}

/** Shows a lesson, or none; `use` runs a scenario. */
export function showLesson(place: HTMLElement, lesson: Lesson | undefined, use: (text: string) => void): void {
  place.hidden = !lesson;
  if (!lesson) return;
  const { scenario, step } = lesson;
  const choices = [{ say: "The scenario as it is.", set: {} }, ...step].map(({ say, set }) => {
    const [head, ...rest] = say.split(/(?<=[:.])\s/);
    const made = button(
      (head ?? say).replace(/[:.]$/, ""),
      () => {
        use(withSettings(scenario, set));
        for (const each of place.querySelectorAll("[aria-pressed]")) each.setAttribute("aria-pressed", "false");
        made.setAttribute("aria-pressed", "true");
      },
      { "aria-pressed": "false" },
    );
    return element("li", {}, made, rest.length ? `: ${rest.join(" ")}` : "");
  });
  choices[0]?.querySelector("button")?.setAttribute("aria-pressed", "true");
  place.replaceChildren(
    element("h2", {}, lesson.title),
    element("p", { class: "claim" }, lesson.claim),
    element("ol", {}, ...choices),
    element("p", {}, element("b", {}, "Question: "), lesson.question),
    element("details", {}, element("summary", {}, "Answer"), element("p", {}, lesson.answer)),
    element("p", { class: "note" }, `Sources: ${lesson.sources.join("; ")}.`),
  );
}
