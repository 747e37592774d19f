//! A screen as a picture: its cells as SVG, with the colours that a terminal would use.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr;

/// Size of a cell, in the units of the picture.
const CELL: (f64, f64) = (8.4, 16.4);
/// From the top of a cell to the line that letters stand on.
const BASE: f64 = 12.8;
const MARGIN: f64 = 12.0;

/// A colour as red, green, blue.
type Rgb = (u8, u8, u8);

/// What a terminal makes of the names of colours.
pub struct TerminalPalette {
    background: Rgb,
    text: Rgb,
    /// The sixteen that have names: black to white, then the bright ones.
    named: [Rgb; 16],
}

pub const DARK_PALETTE: TerminalPalette = TerminalPalette {
    background: (24, 26, 31),
    text: (215, 218, 224),
    named: [
        (40, 44, 52),
        (240, 113, 120),
        (152, 195, 121),
        (229, 192, 123),
        (97, 175, 239),
        (198, 120, 221),
        (86, 182, 194),
        (200, 204, 212),
        (110, 118, 129),
        (255, 138, 144),
        (180, 220, 150),
        (245, 213, 150),
        (130, 195, 255),
        (220, 150, 240),
        (120, 210, 220),
        (255, 255, 255),
    ],
};

pub const LIGHT_PALETTE: TerminalPalette = TerminalPalette {
    background: (255, 255, 255),
    text: (36, 41, 47),
    named: [
        (36, 41, 47),
        (190, 30, 45),
        (26, 127, 55),
        (154, 103, 0),
        (9, 105, 218),
        (130, 80, 223),
        (27, 124, 131),
        (110, 119, 129),
        (87, 96, 106),
        (207, 34, 46),
        (45, 164, 78),
        (191, 135, 0),
        (33, 139, 255),
        (164, 117, 249),
        (49, 146, 170),
        (140, 149, 159),
    ],
};

impl TerminalPalette {
    fn rgb(&self, color: Color, default: Rgb) -> Rgb {
        match color {
            Color::Reset => default,
            Color::Black => self.named[0],
            Color::Red => self.named[1],
            Color::Green => self.named[2],
            Color::Yellow => self.named[3],
            Color::Blue => self.named[4],
            Color::Magenta => self.named[5],
            Color::Cyan => self.named[6],
            Color::Gray => self.named[7],
            Color::DarkGray => self.named[8],
            Color::LightRed => self.named[9],
            Color::LightGreen => self.named[10],
            Color::LightYellow => self.named[11],
            Color::LightBlue => self.named[12],
            Color::LightMagenta => self.named[13],
            Color::LightCyan => self.named[14],
            Color::White => self.named[15],
            Color::Rgb(red, green, blue) => (red, green, blue),
            Color::Indexed(at @ 0..=15) => self.named[usize::from(at)],
            Color::Indexed(at @ 16..=231) => {
                let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
                let at = at - 16;
                (level(at / 36), level(at / 6 % 6), level(at % 6))
            }
            Color::Indexed(at) => {
                let grey = 8 + 10 * (at - 232);
                (grey, grey, grey)
            }
        }
    }

    /// Colours of letters and ground of a cell.
    fn cell_colors(&self, cell: &Cell) -> (Rgb, Rgb) {
        let mut text = self.rgb(cell.fg, self.text);
        let mut ground = self.rgb(cell.bg, self.background);
        if cell.modifier.contains(Modifier::REVERSED) {
            std::mem::swap(&mut text, &mut ground);
        }
        if cell.modifier.contains(Modifier::DIM) {
            let mix = |one: u8, other: u8| (u16::from(one) * 3 / 5 + u16::from(other) * 2 / 5) as u8;
            text = (mix(text.0, ground.0), mix(text.1, ground.1), mix(text.2, ground.2));
        }
        (text, ground)
    }
}

/// The whole screen. Equal cells that stand side by side are one text, so that letters stay in their columns.
pub fn draw_picture(buffer: &Buffer, palette: &TerminalPalette, title: &str) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let width = f64::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n\
         <g font-family=\"ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace\" font-size=\"14\">\n",
        escape_text(title),
        hex(palette.background)
    );
    for y in 0..rows {
        draw_row(buffer, y, palette, &mut picture);
    }
    picture.push_str("</g>\n</svg>\n");
    picture
}

fn draw_row(buffer: &Buffer, y: u16, palette: &TerminalPalette, picture: &mut String) {
    let top = MARGIN + f64::from(y) * CELL.1;
    let mut x = 0;
    while x < buffer.area.width {
        let first = &buffer[(x, y)];
        let (begin, mut text) = (x, String::new());
        while x < buffer.area.width && buffer[(x, y)].style() == first.style() {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            // the cell behind a wide letter belongs to it
            x += u16::try_from(symbol.width().max(1)).unwrap_or(1);
        }
        let (color, ground) = palette.cell_colors(first);
        let left = MARGIN + f64::from(begin) * CELL.0;
        let length = f64::from(x - begin) * CELL.0;
        if ground != palette.background {
            let (fill, high) = (hex(ground), CELL.1);
            let _ = writeln!(
                picture,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{high}\" fill=\"{fill}\"/>"
            );
        }
        write_text(picture, &text, (left, top + BASE), first.modifier, color);
    }
}

/// Blanks around a text are left out: each run of letters is as wide as its cells.
fn write_text(picture: &mut String, text: &str, (left, base): (f64, f64), style: Modifier, color: Rgb) {
    let shown = text.trim();
    if shown.is_empty() {
        return;
    }
    let before = text.len() - text.trim_start().len();
    let left = left + CELL.0 * text[..before].width() as f64;
    let length = CELL.0 * shown.width() as f64;
    let mut looks = String::new();
    for (modifier, attribute) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
        (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
    ] {
        if style.contains(modifier) {
            looks.push_str(attribute);
        }
    }
    let _ = writeln!(
        picture,
        "<text x=\"{left:.1}\" y=\"{base:.1}\" textLength=\"{length:.1}\" fill=\"{}\"{looks} xml:space=\"preserve\">{}</text>",
        hex(color),
        escape_text(shown)
    );
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
