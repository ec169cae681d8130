//! What a chart of a page shows, read from its SVG.

/// A chart: its axes and traces.
#[derive(Debug)]
pub struct Chart {
    /// The axes in their order, `x` before `y` in each panel.
    pub axes: Vec<Axis>,
    pub traces: Vec<Trace>,
    /// The names in its legend; absent where it has none.
    pub legend: Option<Vec<String>>,
}

#[derive(Debug)]
pub struct Axis {
    pub is_x: bool,
    pub scale: String,
    pub title: String,
    pub ticks: Vec<String>,
}

#[derive(Debug)]
pub struct Trace {
    pub name: String,
    /// The words of its class: its kind and colour.
    pub class: String,
    pub marks: Vec<Mark>,
}

/// Attributes of a mark, as they are written.
#[derive(Debug, Default)]
pub struct Mark {
    pub x: String,
    pub y: String,
    pub low: Option<String>,
    pub high: Option<String>,
    /// Whisker, quartile, median, quartile, whisker of a box.
    pub five: Option<String>,
    pub sign: String,
    pub title: String,
}

/// The chart with this number in a page.
pub fn chart(html: &str, number: usize) -> Chart {
    let begin = html
        .find(&format!("<svg id=\"p{number}\""))
        .expect("a chart");
    let end = html[begin..].find("</figure>").expect("its end");
    let text = &html[begin..begin + end];
    let (svg, after) = text.split_once("</svg>\n</div>").expect("an element svg");
    let parts = |mark: &str| -> Vec<String> {
        let found = svg.split(mark).skip(1);
        found
            .map(|part| part.split("</g>\n").next().unwrap_or_default().to_owned())
            .collect()
    };
    let legend = after.split_once("<ul class=\"legend\">").map(|(_, list)| {
        let entries = list.split("</svg>").skip(1);
        entries.map(|entry| until(entry, "</li>")).collect()
    });
    Chart {
        axes: parts("<g class=\"axis ")
            .iter()
            .map(|part| axis(part))
            .collect(),
        traces: svg.split("<g class=\"trace ").skip(1).map(trace).collect(),
        legend,
    }
}

impl Chart {
    /// The first horizontal or vertical axis.
    pub fn axis(&self, is_x: bool) -> &Axis {
        self.axes
            .iter()
            .find(|axis| axis.is_x == is_x)
            .expect("an axis")
    }

    pub fn names(&self) -> Vec<&str> {
        self.traces
            .iter()
            .map(|trace| trace.name.as_str())
            .collect()
    }
}

impl Trace {
    /// Numbers of its marks along the horizontal axis.
    pub fn x(&self) -> Vec<f64> {
        self.marks
            .iter()
            .flat_map(|mark| numbers(&mark.x))
            .collect()
    }

    /// Numbers of its marks along the vertical axis.
    pub fn y(&self) -> Vec<f64> {
        self.marks
            .iter()
            .flat_map(|mark| numbers(&mark.y))
            .collect()
    }

    /// Names of its marks along the vertical axis.
    pub fn rows(&self) -> Vec<&str> {
        self.marks.iter().map(|mark| mark.y.as_str()).collect()
    }
}

pub fn numbers(words: &str) -> Vec<f64> {
    let number = |word: &str| word.parse().expect("a number");
    words.split(' ').map(number).collect()
}

fn until(text: &str, end: &str) -> String {
    text.split(end).next().unwrap_or_default().to_owned()
}

fn attribute(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("{name}=\""))?;
    Some(until(rest, "\""))
}

fn axis(part: &str) -> Axis {
    let ticks = part.split("class=\"tick\"").skip(1);
    Axis {
        is_x: part.starts_with('x'),
        scale: attribute(part, "data-scale").expect("a scale"),
        title: attribute(part, "data-title").expect("a title"),
        ticks: ticks
            .filter_map(|tick| Some(until(tick.split_once('>')?.1, "<")))
            .collect(),
    }
}

fn trace(part: &str) -> Trace {
    // Marks are groups, except the path of a curve and tiles.
    let marks = part.split(" data-").next().unwrap_or_default();
    let class = until(marks, "\"");
    let begin = if class.starts_with("curve") {
        "<path class=\"line "
    } else {
        "<g class=\"mark\""
    };
    Trace {
        name: attribute(part, "data-name").expect("a name"),
        class,
        marks: part.split(begin).skip(1).map(mark).collect(),
    }
}

fn mark(part: &str) -> Mark {
    // Attributes after the title belong to the next mark.
    let end = part
        .find("</title>")
        .map_or(part.len(), |at| at + "</title>".len());
    let part = &part[..end];
    Mark {
        x: attribute(part, "data-x").unwrap_or_default(),
        y: attribute(part, "data-y").unwrap_or_default(),
        low: attribute(part, "data-low"),
        high: attribute(part, "data-high"),
        five: attribute(part, "data-five"),
        sign: part
            .split_once("class=\"sign ")
            .map(|(_, rest)| until(rest, "\""))
            .unwrap_or_default(),
        title: part
            .split_once("<title>")
            .map(|(_, rest)| until(rest, "</title>"))
            .unwrap_or_default(),
    }
}
